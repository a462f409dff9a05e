import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { callText, workspacePath } from "../api";
import { t, type Word } from "../i18n";
import { DiffLines } from "./file_change";
import type { Turn } from "./reduce";

/** What a turn left otherwise than it found it, by whatever means; the patch when somebody asks for it. */
export function ChangedFiles({ turn }: { turn: Turn; revision: number }): JSX.Element {
  const [patch, setPatch] = useState<string | null>(null);
  const [state, setState] = useState<"" | "reading" | "shown">("");
  const show = async () => {
    setState("reading");
    try {
      const path = workspacePath(turn.workspace, `/turns/${encodeURIComponent(turn.id)}/diff`);
      setPatch(await callText(path));
    } catch (reason) {
      setPatch(reason instanceof Error ? reason.message : String(reason));
    }
    setState("shown");
  };
  return (
    <div class="changed" role="group" aria-label={t("turn.changes")}>
      <ul>
        {turn.changes.map((file) => (
          <li key={file.path}>
            <span class="path">{file.path}</span>
            {file.change === "changed" ? null : (
              <span class="tag">{t(`turn.change.${file.change}` as Word)}</span>
            )}
            <span class="add">+{file.added}</span> <span class="del">−{file.removed}</span>
          </li>
        ))}
      </ul>
      {patch !== null ? (
        <figure class="diff">
          <DiffLines lines={patch.replace(/\n$/, "").split("\n")} />
        </figure>
      ) : (
        <button class="link" disabled={state === "reading"} onClick={() => void show()}>
          {t("turn.diff")}
        </button>
      )}
    </div>
  );
}

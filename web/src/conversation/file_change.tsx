import { structuredPatch } from "diff";
import type { JSX } from "preact";
import { fields, text } from "../values";

export interface FileChange {
  path: string;
  before: string;
  after: string;
}

/** The changes to a file that a tool's input asks for; none if it is not a tool that writes. */
export function changesOf(tool: string, input: unknown): FileChange[] {
  const given = fields(input);
  const path = text(given.file_path) || text(given.notebook_path);
  if (!path) return [];
  if (tool === "Write") return [{ path, before: "", after: text(given.content) }];
  if (tool === "Edit")
    return [{ path, before: text(given.old_string), after: text(given.new_string) }];
  if (tool === "MultiEdit" && Array.isArray(given.edits)) {
    return given.edits.map((edit) => ({
      path,
      before: text(fields(edit).old_string),
      after: text(fields(edit).new_string),
    }));
  }
  if (tool === "NotebookEdit" && given.new_source)
    return [{ path, before: "", after: text(given.new_source) }];
  return [];
}

const context = 3;
const mostLines = 400;

export function Diff({ change }: { change: FileChange }): JSX.Element {
  const patch = structuredPatch(change.path, change.path, change.before, change.after, "", "", {
    context,
  });
  const lines = patch.hunks.flatMap((hunk, index) => [
    ...(index > 0 ? ["⋯"] : []),
    ...hunk.lines.filter((line) => !line.startsWith("\\")),
  ]);
  const added = lines.filter((line) => line.startsWith("+")).length;
  const removed = lines.filter((line) => line.startsWith("-")).length;
  return (
    <figure class="diff">
      <figcaption>
        <span class="path">{change.path}</span>
        <span class="add">+{added}</span> <span class="del">−{removed}</span>
      </figcaption>
      <DiffLines lines={lines} />
    </figure>
  );
}

/** Lines of a patch, what was added and what was removed in their colours. */
export function DiffLines({ lines }: { lines: string[] }): JSX.Element {
  const kind = (line: string) =>
    /^(diff|index|---|\+\+\+|@@) /.test(line)
      ? "quiet"
      : line[0] === "+"
        ? "add"
        : line[0] === "-"
          ? "del"
          : "";
  return (
    <pre tabIndex={0}>
      {lines.slice(0, mostLines).map((line, index) => (
        <span key={index} class={kind(line)}>
          {line}
          {"\n"}
        </span>
      ))}
      {lines.length > mostLines ? `⋯ ${lines.length - mostLines}\n` : null}
    </pre>
  );
}

import { computed, signal } from "@preact/signals";

export type Place =
  | { view: "workspaces" }
  | { view: "workspace"; id: string; tab: "conversation" | "shell"; at: number | null }
  | { view: "events"; query: URLSearchParams }
  | { view: "overview" };

const hash = signal(location.hash);
window.addEventListener("hashchange", () => {
  hash.value = location.hash;
});

/** The place that the address names; what is not known is the list of workspaces. */
export function parsePlace(text: string): Place {
  const [path = "", search = ""] = text.replace(/^#?\/?/, "").split("?");
  const query = new URLSearchParams(search);
  const [view, id, tab] = path.split("/").map(decode);
  if (view === "events") return { view, query };
  if (view === "overview") return { view };
  if (view === "w" && id) {
    const at = Number(query.get("at"));
    return {
      view: "workspace",
      id,
      tab: tab === "shell" ? "shell" : "conversation",
      at: at > 0 ? at : null,
    };
  }
  return { view: "workspaces" };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = computed(() => parsePlace(hash.value));

export function go(to: string): void {
  location.hash = to;
}

export function workspaceHref(id: string, tab = "", at?: number): string {
  return `#/w/${encodeURIComponent(id)}${tab ? `/${tab}` : ""}${at ? `?at=${at}` : ""}`;
}

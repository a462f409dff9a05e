import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

interface Operation {
  responses: Record<string, object>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
}

/** The server's description of its calls, to hold its answers against. */
export class Schemas {
  /** What did not fit, to be empty at the end of every test. */
  readonly violations: string[] = [];
  /** The operations whose answers were checked, as `GET /path 200`. */
  readonly checked = new Set<string>();
  readonly #document: Document;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: object) {
    this.#document = document as Document;
    formats.default(this.#ajv);
    this.#ajv.addSchema(document, "api");
  }

  /** Notes a violation if `value` is not of that schema of the components. */
  check(name: string, value: unknown): void {
    this.#hold(`#/components/schemas/${name}`, value, name);
  }

  /** Notes a violation if the answer is not described, or not so. */
  checkAnswer(method: string, path: string, status: number, type: string, body: string): void {
    const what = `${method} ${path} ${status}`;
    const template = this.#templateOf(path, method);
    if (template === undefined) return; // nothing there, and the answer says so
    const operation = this.#document.paths[template]![method.toLowerCase()]!;
    const key = String(status) in operation.responses ? String(status) : "default";
    this.checked.add(`${method} ${template} ${key}`);
    let at = `#/paths/${escape(template)}/${method.toLowerCase()}/responses/${key}`;
    const response = this.#resolve(at);
    at = response.at;
    const content = response.value["content"] as Record<string, { schema?: object }> | undefined;
    const kind = type.split(";")[0]!.trim();
    if (!content) {
      if (body !== "") this.violations.push(`${what}: a body where none is described`);
      return;
    }
    if (!(kind in content)) {
      this.violations.push(`${what}: ${kind} is not described`);
      return;
    }
    if (kind.endsWith("json")) this.#hold(`${at}/content/${escape(kind)}/schema`, JSON.parse(body), what);
  }

  #hold(at: string, value: unknown, what: string): void {
    let validate = this.#compiled.get(at);
    if (!validate) {
      validate = this.#ajv.compile({ $ref: `api${at}` });
      this.#compiled.set(at, validate);
    }
    if (!validate(value))
      this.violations.push(`${what}: ${this.#ajv.errorsText(validate.errors)}: ${JSON.stringify(value).slice(0, 2000)}`);
  }

  #resolve(at: string): { at: string; value: Record<string, unknown> } {
    let value: any = this.#document;
    for (const part of at.slice(2).split("/"))
      value = value[decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")];
    return typeof value["$ref"] === "string" ? this.#resolve(value["$ref"]) : { at, value };
  }

  #templateOf(path: string, method: string): string | undefined {
    const parts = path.split("/");
    const fits = (template: string) => {
      const wanted = template.split("/");
      return wanted.length === parts.length && wanted.every((part, i) => part.startsWith("{") || part === parts[i]);
    };
    const found = Object.keys(this.#document.paths).filter(
      (each) => fits(each) && method.toLowerCase() in this.#document.paths[each]!,
    );
    return found.sort((a, b) => a.split("{").length - b.split("{").length)[0];
  }
}

function escape(part: string): string {
  return encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
}

/** A `fetch` that has every complete answer checked. */
export function checkedFetch(schemas: Schemas, use: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await use(input, init);
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream")) {
      const url = new URL(input instanceof Request ? input.url : input);
      const body = await response.clone().text();
      schemas.checkAnswer(init?.method ?? "GET", url.pathname, response.status, type, body);
    }
    return response;
  };
}

/**
 * xterm.js writes style elements, which the page's policy does not let stand. This is the page's
 * document, but for it a style element is one that puts its text into a constructed style sheet,
 * which is no inline style.
 */
class SheetElement extends HTMLElement {
  private readonly sheet = new CSSStyleSheet();

  connectedCallback(): void {
    this.hidden = true;
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.sheet];
  }

  disconnectedCallback(): void {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== this.sheet);
  }

  override get textContent(): string {
    return "";
  }

  override set textContent(css: string) {
    this.sheet.replaceSync(css);
  }
}

const name = "tidemark-sheet";

/** The colour of a cell is set as an attribute, which is refused like a style element; its property is not. */
function freeSpan(): HTMLSpanElement {
  const span = document.createElement("span");
  span.setAttribute = (attribute: string, value: string) => {
    if (attribute === "style") span.style.cssText = value;
    else Element.prototype.setAttribute.call(span, attribute, value);
  };
  return span;
}

export function documentWithSheets(): Document {
  if (!customElements.get(name)) customElements.define(name, SheetElement);
  return new Proxy(document, {
    get(target, property) {
      if (property === "createElement") {
        return (tag: string) =>
          tag === "span" ? freeSpan() : target.createElement(tag === "style" ? name : tag);
      }
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function"
        ? (value as (...all: unknown[]) => unknown).bind(target)
        : value;
    },
    set: (target, property, value) => Reflect.set(target, property, value, target),
  });
}

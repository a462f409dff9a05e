/**
 * In the place of a style element, which the page's policy does not let stand: puts its text into a
 * constructed style sheet, which is no inline style.
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

/**
 * The colours of cells are set as an attribute, which the policy refuses like a style element; the
 * property that the attribute stands for it does not. Spans alone are made so, by xterm.js alone.
 */
function setStyleByProperty(): void {
  HTMLSpanElement.prototype.setAttribute = function (this: HTMLSpanElement, attribute, value) {
    if (attribute === "style") this.style.cssText = value;
    else Element.prototype.setAttribute.call(this, attribute, value);
  };
}

/**
 * Runs what makes style elements, so that they are such ones. Its `documentOverride` would be the way,
 * but xterm.js 6 does not use it everywhere.
 */
export function withSheets(make: () => void): void {
  if (!customElements.get(name)) {
    customElements.define(name, SheetElement);
    setStyleByProperty();
  }
  const create = Document.prototype.createElement.bind(document);
  document.createElement = (tag: string) => create(tag === "style" ? name : tag);
  try {
    make();
  } finally {
    Reflect.deleteProperty(document, "createElement"); // the prototype's is seen again
  }
}

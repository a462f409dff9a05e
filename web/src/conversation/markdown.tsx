import { lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren, JSX } from "preact";

/**
 * What an agent writes, as elements: no HTML of its is ever parsed as such, links go nowhere but to
 * http(s), and pictures are not fetched, since no request leaves the server.
 */
export function Markdown({ source }: { source: string }): JSX.Element {
  // Very long texts are shown as they are: laying them out would hold the page up.
  if (source.length > 200_000) return <pre class="plain">{source}</pre>;
  return <div class="md">{blocks(lexer(source, { gfm: true, breaks: true }))}</div>;
}

function blocks(tokens: Token[]): ComponentChildren {
  return tokens.map((token, index) => block(token, index));
}

function block(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case "space":
      return null;
    case "heading": {
      // Headings of the text are below those of the page.
      const level = Math.min(6, (token as Tokens.Heading).depth + 3);
      return (
        <div
          key={key}
          class={`h h${(token as Tokens.Heading).depth}`}
          role="heading"
          aria-level={level}
        >
          {spans(token.tokens)}
        </div>
      );
    }
    case "paragraph":
      return <p key={key}>{spans(token.tokens)}</p>;
    case "code":
      return (
        <pre key={key} class="code" tabIndex={0}>
          <code>{(token as Tokens.Code).text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote key={key}>{blocks(token.tokens ?? [])}</blockquote>;
    case "list":
      return list(token as Tokens.List, key);
    case "table":
      return table(token as Tokens.Table, key);
    case "hr":
      return <hr key={key} />;
    case "text":
      return token.tokens ? <span key={key}>{spans(token.tokens)}</span> : token.text;
    default:
      return <p key={key}>{token.raw}</p>;
  }
}

function list(token: Tokens.List, key: number): JSX.Element {
  const items = token.items.map((item, index) => (
    <li key={index}>
      {item.task ? (
        <input
          type="checkbox"
          checked={item.checked}
          disabled
          aria-label={item.checked ? "☑" : "☐"}
        />
      ) : null}
      {blocks(item.tokens)}
    </li>
  ));
  return token.ordered ? (
    <ol key={key} start={Number(token.start) || 1}>
      {items}
    </ol>
  ) : (
    <ul key={key}>{items}</ul>
  );
}

function table(token: Tokens.Table, key: number): JSX.Element {
  return (
    <div key={key} class="scroll" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index}>{spans(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index}>{spans(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function spans(tokens: Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map((token, key) => span(token, key));
}

function span(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong key={key}>{spans(token.tokens)}</strong>;
    case "em":
      return <em key={key}>{spans(token.tokens)}</em>;
    case "del":
      return <del key={key}>{spans(token.tokens)}</del>;
    case "codespan":
      return <code key={key}>{unescaped((token as Tokens.Codespan).text)}</code>;
    case "br":
      return <br key={key} />;
    case "link": {
      const { href } = token as Tokens.Link;
      if (!/^https?:\/\//i.test(href)) return <span key={key}>{spans(token.tokens)}</span>;
      return (
        <a key={key} href={href} target="_blank" rel="noopener noreferrer">
          {spans(token.tokens)}
        </a>
      );
    }
    case "text":
      return token.tokens ? spans(token.tokens) : unescaped((token as Tokens.Text).text);
    case "escape":
      return unescaped((token as Tokens.Escape).text);
    default:
      return token.raw;
  }
}

/** The lexer leaves text as it stands; an agent that writes `&lt;` wants a `<` to be seen. */
function unescaped(source: string): string {
  const names: Record<string, string> = {
    lt: "<",
    gt: ">",
    amp: "&",
    quot: '"',
    "#39": "'",
    nbsp: "\u00a0",
  };
  return source.replace(
    /&(lt|gt|amp|quot|#39|nbsp);/g,
    (whole, name: string) => names[name] ?? whole,
  );
}

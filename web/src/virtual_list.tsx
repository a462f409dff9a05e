import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface VirtualListProps<T> {
  rows: readonly T[];
  rowHeight: number;
  keyOf: (row: T) => string | number;
  draw: (row: T, index: number) => ComponentChildren;
  label: string;
  selected?: number;
  onSelect?: (index: number) => void;
  onOpen?: (index: number) => void;
  /** Called when the end comes near. */
  onEnd?: () => void;
  /** Rows came in before the first one: what is looked at stays where it is, unless that is the top. */
  keepPlace?: boolean;
  className?: string;
}

const overscan = 8;

/** A list of any length of which only what is seen is in the document. Rows are of one height. */
export function VirtualList<T>(props: VirtualListProps<T>): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const { rows, rowHeight } = props;

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const sizes = new ResizeObserver(() =>
      setView({ top: element.scrollTop, height: element.clientHeight }),
    );
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);

  const firstKey = rows[0] === undefined ? undefined : props.keyOf(rows[0]);
  const before = useRef<{ key: string | number | undefined; count: number }>({
    key: firstKey,
    count: rows.length,
  });
  useLayoutEffect(() => {
    const element = box.current;
    const was = before.current;
    before.current = { key: firstKey, count: rows.length };
    if (
      !props.keepPlace ||
      !element ||
      was.key === undefined ||
      was.key === firstKey ||
      element.scrollTop < rowHeight
    )
      return;
    const moved = rows.findIndex((row) => props.keyOf(row) === was.key);
    if (moved > 0) element.scrollTop += moved * rowHeight;
  }, [firstKey, rows.length]);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + overscan);
  useEffect(() => {
    if (props.onEnd && last >= rows.length - overscan * 4) props.onEnd();
  }, [last, rows.length, props.onEnd]);

  const selected = props.selected ?? -1;
  const show = (index: number) => {
    const element = box.current;
    if (!element) return;
    const top = index * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      j: 1,
      ArrowUp: -1,
      k: -1,
      PageDown: page,
      PageUp: -page,
    };
    let to: number | undefined;
    const step = steps[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step !== undefined) to = selected + step;
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = rows.length - 1;
    else if (event.key === "Enter" && selected >= 0) props.onOpen?.(selected);
    else return;
    event.preventDefault();
    if (to === undefined) return;
    to = Math.min(rows.length - 1, Math.max(0, to));
    props.onSelect?.(to);
    show(to);
  };

  const drawn: JSX.Element[] = [];
  for (let index = first; index < last; ++index) {
    const row = rows[index] as T;
    drawn.push(
      <div
        key={props.keyOf(row)}
        id={`row-${index}`}
        class="vrow"
        role="option"
        aria-selected={index === selected}
        aria-posinset={index + 1}
        aria-setsize={rows.length}
        style={{ transform: `translateY(${index * rowHeight}px)`, height: `${rowHeight}px` }}
        onClick={() => {
          props.onSelect?.(index);
          props.onOpen?.(index);
        }}
      >
        {props.draw(row, index)}
      </div>,
    );
  }
  return (
    <div
      ref={box}
      class={`vlist ${props.className ?? ""}`}
      role="listbox"
      tabIndex={0}
      aria-label={props.label}
      aria-activedescendant={selected >= first && selected < last ? `row-${selected}` : undefined}
      onScroll={(event) => {
        const element = event.currentTarget;
        setView({ top: element.scrollTop, height: element.clientHeight });
      }}
      onKeyDown={onKeyDown}
    >
      <div class="vspace" role="presentation" style={{ height: `${rows.length * rowHeight}px` }}>
        {drawn}
      </div>
    </div>
  );
}

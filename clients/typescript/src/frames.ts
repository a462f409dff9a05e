import { createParser } from "eventsource-parser";
import { unreachable } from "./errors.js";

export interface Frame {
  type: string;
  data: string;
  /** As the server set it last; empty if it never did. */
  id: string;
  /** Milliseconds; set if the server suggested it with this frame. */
  retry: number | undefined;
}

/**
 * The frames of an event stream as they come. Ends with the body; rejects with a TidemarkError if that breaks, or is
 * silent for longer than `silence` milliseconds while somebody waits for it.
 */
export async function* framesOf(
  body: ReadableStream<Uint8Array>,
  silence: number,
): AsyncGenerator<Frame, void, undefined> {
  let frames: Frame[] = [];
  let retry: number | undefined;
  let id = "";
  const parser = createParser({
    onRetry: (milliseconds) => (retry = milliseconds),
    onEvent: (event) => {
      id = event.id ?? id;
      frames.push({ type: event.event ?? "message", data: event.data, id, retry });
      retry = undefined;
    },
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const piece = await read(reader, silence);
      if (piece === undefined) return;
      parser.feed(decoder.decode(piece, { stream: true }));
      const ready = frames;
      frames = [];
      yield* ready;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function read(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silence: number,
): Promise<Uint8Array | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${silence / 1000} s`)), silence);
  });
  try {
    const piece = await Promise.race([reader.read(), late]);
    return piece.done ? undefined : piece.value;
  } catch (failure) {
    throw unreachable(failure);
  } finally {
    clearTimeout(timer);
  }
}

export interface VerifyOptions {
  /** How many seconds the time of the signature may be away from `now`: what is older may be somebody's recording. */
  tolerance?: number | undefined;
  /** Seconds since 1970; by default the clock's. */
  now?: number | undefined;
}

/**
 * Whether a request comes from a server that knows the secret, and was made just now.
 * @param body as it came, before it is parsed
 * @param signature the header `Tidemark-Signature`
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  signature: string,
  secret: string,
  options: VerifyOptions = {},
): Promise<boolean> {
  const found = /^t=(\d{1,15}),v1=([0-9a-f]{64})$/.exec(signature);
  if (!found) return false;
  const [, time, digits] = found as unknown as [string, string, string];
  const { tolerance = 300, now = Date.now() / 1000 } = options;
  const text = new TextEncoder();
  const head = text.encode(`${time}.`);
  const rest = typeof body === "string" ? text.encode(body) : body;
  const whole = new Uint8Array(head.length + rest.length);
  whole.set(head);
  whole.set(rest, head.length);
  const code = Uint8Array.from(digits.match(/../g)!, (byte) => Number.parseInt(byte, 16));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", text.encode(secret), algorithm, false, ["verify"]);
  const holds = await crypto.subtle.verify("HMAC", key, code, whole); // compares in constant time
  return holds && Math.abs(now - Number(time)) <= tolerance;
}

/** One sample of the Prometheus text format. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Histogram {
  bounds: number[]; // upper ends, the last one infinite
  counts: number[]; // of each bucket alone
  total: number;
}

const line = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const label = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(exposition: string): Sample[] {
  const out: Sample[] = [];
  for (const each of exposition.split("\n")) {
    if (!each || each.startsWith("#")) continue;
    const found = line.exec(each);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(label)) {
      labels[name!] = value!.replace(/\\(.)/g, (_, sign: string) => (sign === "n" ? "\n" : sign));
    }
    out.push({ name: found[1]!, labels, value: found[3] === "+Inf" ? Infinity : Number(found[3]) });
  }
  return out;
}

/** The sum over all labels; 0 if there is none. */
export function total(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number {
  let sum = 0;
  for (const sample of samples) {
    if (sample.name !== name) continue;
    if (Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
      sum += sample.value;
  }
  return sum;
}

export function histogram(samples: readonly Sample[], name: string): Histogram {
  const buckets = samples
    .filter((sample) => sample.name === `${name}_bucket`)
    .map((sample) => ({
      bound: sample.labels.le === "+Inf" ? Infinity : Number(sample.labels.le),
      upTo: sample.value,
    }))
    .sort((a, b) => a.bound - b.bound);
  return {
    bounds: buckets.map((bucket) => bucket.bound),
    counts: buckets.map((bucket, index) => bucket.upTo - (buckets[index - 1]?.upTo ?? 0)),
    total: buckets.at(-1)?.upTo ?? 0,
  };
}

/** The value that `part` of all lie below, as far as the buckets tell; linear within one. */
export function quantile(of: Histogram, part: number): number {
  const wanted = of.total * part;
  let seen = 0;
  for (let index = 0; index < of.bounds.length; ++index) {
    const here = of.counts[index]!;
    if (seen + here >= wanted && here > 0) {
      const low = of.bounds[index - 1] ?? 0;
      const high = of.bounds[index]!;
      return high === Infinity ? low : low + (high - low) * ((wanted - seen) / here);
    }
    seen += here;
  }
  return 0;
}

import type { Histogram } from '../../core/summable.ts';

type Labels = Readonly<Record<string, string>>;

/**
 * Prometheus' text format, version 0.0.4. Written by hand: the format is simple, and a client library would want to own
 * the counters, which are plain numbers here (docs/decisions/0022-metrics-and-traces.md).
 */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export class Exposition {
  #text = '';

  gauge(name: string, help: string, samples: Iterable<readonly [Labels, number]>): void {
    this.#family(name, 'gauge', help);
    for (const [labels, value] of samples) this.#sample(name, labels, value);
  }

  /** `name` must end with `_total`. */
  counter(name: string, help: string, samples: Iterable<readonly [Labels, number]>): void {
    this.#family(name, 'counter', help);
    for (const [labels, value] of samples) this.#sample(name, labels, value);
  }

  histogram(name: string, help: string, samples: Iterable<readonly [Labels, Histogram]>): void {
    this.#family(name, 'histogram', help);
    for (const [labels, { bounds, counts, sum }] of samples) {
      let total = 0;
      for (const [i, count] of counts.entries()) {
        total += count;
        this.#sample(`${name}_bucket`, { ...labels, le: i < bounds.length ? String(bounds[i]) : '+Inf' }, total);
      }
      this.#sample(`${name}_sum`, labels, sum);
      this.#sample(`${name}_count`, labels, total);
    }
  }

  toString(): string {
    return this.#text;
  }

  #family(name: string, type: string, help: string): void {
    this.#text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  }

  #sample(name: string, labels: Labels, value: number): void {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${quote(text)}"`);
    this.#text += `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
  }
}

function quote(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

import type { LogLine } from '../../ui/logs/log-buffer.ts';

/** An event of a build's log. */
interface BuildLine {
  number: number;
  at: string;
  step: string | null;
  stream: 'stdout' | 'stderr' | 'system';
  text: string;
}

/**
 * Returns a line of a build as logs show it, below a heading if another step than `before` printed it. A line of Podyard's own
 * may hold several.
 */
export function toLogLines({ number, at, step, stream, text }: BuildLine, before: string | null): LogLine[] {
  const common = { workerId: null, level: null, ts: at };
  const source = stream === 'system' ? 'system' : 'container';
  const lines = text.split('\n').map((line, n): LogLine => ({ ...common, id: `${number}.${n}`, source, line }));
  if (step === null || step === before) return lines;
  return [{ ...common, id: `${number} step`, source: 'system', line: `▸ ${step}` }, ...lines];
}

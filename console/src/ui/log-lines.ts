export interface LogLine {
  source: 'container' | 'system';
  line: string;
  ts: string;
}

export type LogSource = 'all' | LogLine['source'];

/** Lines that a view keeps; older ones are dropped. */
export const MAX_LINES = 5_000;
/** Within this distance of the end, a log counts as scrolled to the end. */
const END_PX = 40;

/** Returns the path that streams a log, starting with its last 500 lines. */
export function logPath(path: string, source: LogSource): string {
  return `${path}?tail=500${source === 'all' ? '' : `&source=${source}`}`;
}

/** Returns the lines with one more, at most MAX_LINES. */
export function appendLine(lines: readonly LogLine[], line: LogLine): readonly LogLine[] {
  return [...lines.slice(Math.max(0, lines.length - MAX_LINES + 1)), line];
}

/** The time of day of a line, in UTC with milliseconds: `10:02:11.482`. */
export function timeOfLine({ ts }: LogLine): string {
  return ts.slice(11, 23);
}

/** True when a scrolled box shows its last line. */
export function isAtEnd(box: { scrollTop: number; scrollHeight: number; clientHeight: number }): boolean {
  return box.scrollHeight - box.scrollTop - box.clientHeight < END_PX;
}

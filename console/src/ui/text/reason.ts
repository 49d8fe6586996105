import { formatDate } from './format.ts';

/** Splits a reason into its sentence, with times as the reader writes them, and the last lines of output below it. */
export function splitReason(reason: string): { sentence: string; output: string } {
  const end = reason.indexOf(':\n');
  if (end === -1) return { sentence: withLocalTimes(reason), output: '' };
  return { sentence: withLocalTimes(reason.slice(0, end)), output: reason.slice(end + 2) };
}

function withLocalTimes(text: string): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, formatDate);
}

/** Returns a reason for a table cell: the sentence and the last line of output, which usually names the error. */
export function shortReason(reason: string): string {
  const { sentence, output } = splitReason(reason);
  return output === '' ? sentence : `${sentence}: ${output.slice(output.lastIndexOf('\n') + 1).trim()}`;
}

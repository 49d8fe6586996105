/** Splits a reason into its sentence and the last lines of output below it. */
export function splitReason(reason: string): { sentence: string; output: string } {
  const end = reason.indexOf(':\n');
  if (end === -1) return { sentence: reason, output: '' };
  return { sentence: reason.slice(0, end), output: reason.slice(end + 2) };
}

/** Returns a reason for a table cell: the sentence and the last line of output, which usually names the error. */
export function shortReason(reason: string): string {
  const { sentence, output } = splitReason(reason);
  return output === '' ? sentence : `${sentence}: ${output.slice(output.lastIndexOf('\n') + 1).trim()}`;
}

/** Names longer than this are not compared: the table grows with the square. */
const MAX_LENGTH = 100;

/** Returns the known word that was probably meant; undefined if none is within `most` edits: by default a third of the word. */
export function closest(
  word: string,
  known: Iterable<string>,
  most = Math.max(1, Math.floor(word.length / 3)),
): string | undefined {
  let best: { word: string; edits: number } | undefined;
  for (const candidate of known) {
    const edits =
      word.toLowerCase() === candidate.toLowerCase() ? 0 : editsBetween(word, candidate, best?.edits ?? most);
    if (edits <= most && edits < (best?.edits ?? Number.POSITIVE_INFINITY)) best = { word: candidate, edits };
  }
  return best?.word;
}

/** Returns `. Did you mean 'x'?`, or nothing. */
export function didYouMean(word: string, known: Iterable<string>, most?: number): string {
  const found = closest(word, known, most);
  return found === undefined ? '' : `. Did you mean '${found}'?`;
}

/** Returns the number of characters to insert, delete, replace or swap; Infinity if it is more than `most`. */
function editsBetween(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most || one.length > MAX_LENGTH) return Number.POSITIVE_INFINITY;
  let [beforeLast, last]: number[][] = [[], Array.from({ length: other.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        last![j]! + 1,
        row[j - 1]! + 1,
        last![j - 1]! + (isSame ? 0 : 1),
        isSwap ? beforeLast![j - 2]! + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, row];
  }
  return last!.at(-1)!;
}

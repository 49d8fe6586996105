/** The most that a figure may grow over a run and still count as flat: a share of its start, or an amount. */
export interface Tolerance {
  share: number;
  amount: number;
}

/** Parts of a run of ten: the first is the warm-up, the next ones are compared with the last. */
const EARLY = [1, 2, 3];
const LATE = [7, 8, 9];

export interface Growth {
  early: number;
  late: number;
  growth: number;
  isFlat: boolean;
}

/**
 * Returns how much a figure grew from the second to fourth tenth of a run to the last three, given its peak in each tenth; and
 * whether that is within the tolerance. Medians, so that one tenth with a pause of the machine does not decide.
 */
export function judgeGrowth(peaks: readonly number[], tolerance: Tolerance): Growth {
  const [early, late] = [EARLY, LATE].map((tenths) => middle(tenths.map((tenth) => peaks[tenth]!))) as [number, number];
  const growth = late - early;
  return { early, late, growth, isFlat: growth <= Math.max(tolerance.amount, early * tolerance.share) };
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

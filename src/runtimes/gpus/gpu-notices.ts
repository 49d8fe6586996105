/** Real GPUs stay idle while workers believe that they have one. */
export const SIMULATED_BESIDE_REAL =
  'WARNING: this machine has GPUs, but --simulate-gpus simulates others: no worker uses a real one. Set it to off';

export function sharingNotice(shares: number): string {
  return `Each GPU is given to ${shares} workers at once: shared, not isolated (--share-gpus)`;
}

/** The one variable for the extent of the chaos tests; `npm run test:chaos -- --thorough` sets it. */
const isThorough = process.env.PODYARD_TEST_THOROUGH === 'true';

/** Returns how often to kill: as given in a thorough run, else a quarter of it. Every kind of kill happens at least once. */
export function times(thorough: number): number {
  return isThorough ? thorough : Math.ceil(thorough / 4);
}

/** The minimum time under load while servers are killed. */
export const SOAK_MS = isThorough ? 600_000 : 0;

/** Returns the timeout of a test. */
export function limitMs(quick: number): number {
  return isThorough ? 4 * quick + SOAK_MS : quick;
}

/** The one variable that says how much chaos there is; `npm run test:chaos -- --thorough` sets it. */
const isThorough = process.env.PODYARD_TEST_THOROUGH === 'true';

/** How often something is killed: a quarter of what a thorough run does, so that CI meets every kind of kill. */
export function times(thorough: number): number {
  return isThorough ? thorough : Math.ceil(thorough / 4);
}

/** How long the load lasts at the least while servers are killed. */
export const SOAK_MS = isThorough ? 600_000 : 0;

/** A test's timeout: bounds a hang. */
export function limitMs(quick: number): number {
  return isThorough ? 4 * quick + SOAK_MS : quick;
}

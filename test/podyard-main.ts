import { fileURLToPath } from 'node:url';

/** The program that tests start: this checkout's sources, or the bundle that users get, where scripts/test.ts has built it. */
export const MAIN = process.env.PODYARD_TEST_MAIN ?? fileURLToPath(new URL('../src/main.ts', import.meta.url));

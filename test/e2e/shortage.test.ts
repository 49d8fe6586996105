import { describe } from 'vitest';
import { shortageTests } from './shortage.ts';

/** Shortages are emulated in front of the runtime, so one runtime suffices. */
describe('emulated shortage', () => shortageTests('process'));

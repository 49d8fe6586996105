import { describe } from 'vitest';
import { shortageTests } from './shortage.ts';

/** The pretending is done in front of the runtime: that of processes stands for all, and runs anywhere. */
describe('emulated shortage', () => shortageTests('process'));

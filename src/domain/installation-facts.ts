import type { RuntimeName } from '../core/runtime-names.ts';

/** Which frozen workers can give their GPUs to others: any, by checkpoint; those that sleep by themselves; none. */
export type SleepSupport = 'CHECKPOINT' | 'COOPERATIVE' | 'NONE';

/** The runtime and limits of an installation, decided when the server starts and shown to users. */
export interface InstallationFacts {
  /** Labels its containers and pods. */
  id: string;
  version: string;
  runtime: RuntimeName;
  /** True if workers are isolated from this machine and from each other. */
  isIsolated: boolean;
  areGpusSimulated: boolean;
  /** False on a process runtime that may serve only one user. */
  takesSeveralUsers: boolean;
  /** How FlashBoot rests an idle worker: `freezer` stops execution, `parked` leaves it little CPU; null: not at all. */
  freeze: 'freezer' | 'parked' | null;
  /** Looks at the machine the first time. */
  sleep: () => Promise<SleepSupport>;
  /** Notices for the operator, each a sentence without a period. */
  notices: string[];
  /** Looks at the machine: what is out of order now, each a sentence without a period. For admins. */
  problems: () => Promise<string[]>;
}

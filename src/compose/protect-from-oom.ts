import { writeFile } from 'node:fs/promises';

/** Half of the machine's memory less than it uses: every other program goes first, and still not at any price. */
const SERVER_OOM_SCORE = -500;
const OWN_SCORE = '/proc/self/oom_score_adj';

/**
 * Asks the kernel to spare this process, and the database and processes that it starts, when the machine runs out of memory.
 * Needs CAP_SYS_RESOURCE, as root has it; without it, workloads are still killed first, since their score is raised
 * (WORKLOAD_OOM_SCORE). False where it is not permitted, and on systems other than Linux.
 */
export async function protectFromOom(file = OWN_SCORE): Promise<boolean> {
  return writeFile(file, String(SERVER_OOM_SCORE), { flag: 'r+' }).then(
    () => true,
    () => false,
  );
}

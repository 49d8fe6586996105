import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WORKLOAD_OOM_SCORE } from '../workload-spec.ts';
import { identify } from './process-group.ts';

/**
 * Runs the command of a workload in the folder `$1`. Before the command starts it records its own pid and start time, so
 * that a crash of Podyard between fork and record leaves no unknown process. `set -C` never overwrites the record that
 * Podyard itself may have written by then: a reader would see an empty file in between. The trap keeps the shell alive
 * while the command handles SIGTERM. At the end it kills what the command left running, as the end of a container does.
 */
const SHELL = `
{ echo ${WORKLOAD_OOM_SCORE} >/proc/self/oom_score_adj; } 2>/dev/null
trap : TERM INT HUP
folder=$1; shift
identify() { read -r line 2>/dev/null </proc/$$/stat && set -- $line && echo "$$ \${22}" >"$folder/process"; }
set -C; identify 2>/dev/null; set +C
"$@"
echo $? >"$folder/exit"
kill -KILL 0
`;

/** Starts a command as a process group of its own. Resolves once the record of its leader is in `folder` (workload-folders.ts). */
export async function spawnWorkload(
  folder: string,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const output = openSync(join(folder, 'output.log'), 'a', 0o600);
  try {
    const child = spawn('/bin/sh', ['-c', SHELL, 'podyard', folder, ...words], {
      cwd: join(folder, 'work'),
      env,
      detached: true, // a session and a process group of its own
      stdio: ['ignore', output, output],
    });
    await new Promise((done, fail) => child.once('spawn', done).once('error', fail));
    const group = identify(child.pid!);
    if (group) replaceFile(join(folder, 'process'), `${group.pid} ${group.startedAt}\n`);
    child.unref();
    return child;
  } finally {
    closeSync(output);
  }
}

/** Writes the file so that readers see all of it or none. */
function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

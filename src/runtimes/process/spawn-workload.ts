import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identify } from './process-group.ts';

/**
 * Runs the command of a workload. `$1` is its folder. It notes who it is before the command starts, so that a crash of
 * Podyard at that moment leaves nothing unknown; the trap keeps it alive while the command ends after SIGTERM; at last
 * it takes with it whatever the command left behind, as the end of a container does.
 */
const SHELL = `
trap : TERM INT HUP
folder=$1; shift
identify() { read -r line 2>/dev/null </proc/$$/stat && set -- $line && echo "$$ \${22}" >"$folder/process"; }
identify
"$@"
echo $? >"$folder/exit"
kill -KILL 0
`;

/** Starts a command as a process group of its own, whose leader writes the record in `folder` (workload-folders.ts). */
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
    if (group) writeFileSync(join(folder, 'process'), `${group.pid} ${group.startedAt}\n`);
    child.unref();
    return child;
  } finally {
    closeSync(output);
  }
}

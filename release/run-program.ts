import { spawn } from 'node:child_process';

/** Runs a program to its end and returns what it printed. Throws with its name, its last lines and its status if it fails. */
export async function runProgram(
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  if (status === 0) return printed;
  const lines = `${printed}\n${errors}`.trim().split('\n').slice(-20).join('\n');
  throw new Error(`${command} ${args.join(' ')} ended with status ${status}:\n${lines}`);
}

/** The part of the contract suite about programs that run beside a workload's own (`Runtime.exec`). */
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { ExecRequest, Execution } from '../../src/runtimes/execution.ts';
import { NOTHING_RUNS, type Suite, until } from './probes.ts';

const LARGE_BYTES = 3 * 2 ** 20;

async function textOf(stream: Readable | null): Promise<string> {
  return (await bytesOf(stream)).toString('utf8');
}

async function bytesOf(stream: Readable | null): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream ?? []) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Reads a stream up to some words; the rest can be read by another call. */
function reader(stream: Readable): (words: string) => Promise<string> {
  let text = '';
  let wake = () => {};
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
    wake();
  });
  stream.once('end', () => wake());
  return async (words) => {
    while (!text.includes(words)) {
      if (stream.readableEnded) throw new Error(`'${words}' never came; got ${JSON.stringify(text)}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const end = text.indexOf(words) + words.length;
    const head = text.slice(0, end);
    text = text.slice(end);
    return head;
  };
}

/** Tests the guarantees of `Runtime.exec`. Called within the suite of a runtime. */
export function execContract({ runtime, under, started, ready }: Suite): void {
  const shell = (script: string, more: Partial<ExecRequest> = {}, args: readonly string[] = []): ExecRequest => ({
    command: ['sh', '-c', script, 'sh', ...args],
    terminal: null,
    hasInput: false,
    ...more,
  });
  const run = async (id: string, request: ExecRequest): Promise<Execution> => runtime().exec(id, request);

  test('a program gets its arguments and input, and its output, errors and exit code come back apart', async ({
    skip,
  }) => {
    skip(!under().isReal || under().endsNoInput === true, 'the input of no program ends there');
    const id = await ready('idle');
    const script = 'cat; echo "$1|$LISTEN" >&2; exit 3';
    const program = await run(id, shell(script, { hasInput: true }, [`it's "quoted" $HOME\nhéllo`]));
    program.input.end('žluťoučký 🦄');
    const [output, errors, code] = await Promise.all([
      textOf(program.output),
      textOf(program.errors),
      program.exitCode,
    ]);
    expect(output).toBe('žluťoučký 🦄');
    expect(errors).toBe(`it's "quoted" $HOME\nhéllo|\n`);
    expect(code).toBe(3);
    const without = await run(id, shell('cat; echo done'));
    const answers = await Promise.all([textOf(without.output), textOf(without.errors), without.exitCode]);
    expect(answers).toEqual(['done\n', '', 0]);
  });

  test('large binary data passes through a program unchanged, however slowly it is read', async ({ skip }) => {
    skip(!under().isReal || under().endsNoInput === true, 'the input of no program ends there');
    const program = await run(await ready('idle'), { command: ['cat'], terminal: null, hasInput: true });
    const sent = randomBytes(LARGE_BYTES);
    program.input.end(sent);
    const [output, , code] = await Promise.all([bytesOf(program.output), textOf(program.errors), program.exitCode]);
    expect(output.equals(sent)).toBe(true);
    expect(code).toBe(0);
  });

  test('a terminal has a size that can change, carries any character, and turns Ctrl-C into an interrupt', async ({
    skip,
  }) => {
    skip(!under().isReal, NOTHING_RUNS);
    // Engines before API 1.42 and Kubernetes apply a size just after the program has started.
    const script = `sized() { until [ "$(stty size)" = "$1" ]; do sleep 0.1; done; echo "$1"; }; sized "37 91"; read word
      echo "got $word"; sized "50 132"; trap "echo stopped; exit 7" INT; echo ready; while :; do sleep 1; done`;
    const program = await run(
      await ready('idle'),
      shell(script, { terminal: { columns: 91, rows: 37 }, hasInput: true }),
    );
    expect(program.errors).toBeNull();
    const until = reader(program.output);
    await until('37 91');
    await program.resize({ columns: 132, rows: 50 });
    program.input.write('žluť 🦄\r');
    await until('got žluť 🦄');
    await until('50 132');
    await until('ready');
    program.input.write('\x03');
    await until('stopped');
    expect(await program.exitCode).toBe(7);
  });

  test('a signal reaches a program and what it started', async ({ skip }) => {
    skip(!under().isReal, NOTHING_RUNS);
    const program = await run(
      await ready('idle'),
      shell('trap "echo caught; exit 9" TERM; sh -c "echo ready; exec sleep 60"'),
    );
    const until = reader(program.output);
    program.errors?.resume();
    await until('ready');
    await program.signal('TERM');
    await until('caught');
    expect(await program.exitCode).toBe(9);
  });

  test('a program that is ended leaves no process behind', async ({ skip }) => {
    skip(!under().isReal, NOTHING_RUNS);
    const id = await ready('idle');
    const program = await run(id, shell('trap "" HUP; echo "pid $$."; while :; do sleep 1; done'));
    const [, pid] = /pid (\d+)\./.exec(await reader(program.output)('.'))!;
    await program.end();
    await program.end();
    const check = await run(id, shell('kill -0 "$1" 2>/dev/null && echo alive || echo gone', {}, [pid!]));
    expect(await textOf(check.output)).toBe('gone\n');
  });

  test('what a program leaves running when it ends by itself stays', async ({ skip }) => {
    skip(!under().isReal, NOTHING_RUNS);
    const id = await ready('idle');
    const program = await run(id, shell('sleep 600 >/dev/null 2>&1 & echo "pid $!."'));
    const [, pid] = /pid (\d+)\./.exec(await textOf(program.output))!;
    program.errors?.resume();
    expect(await program.exitCode).toBe(0);
    await program.end();
    const check = await run(id, shell('sleep 2; kill "$1" 2>/dev/null && echo stayed || echo gone', {}, [pid!]));
    expect(await textOf(check.output)).toBe('stayed\n');
  });

  test('a program that does not exist is an error or exits with 126 or 127', async ({ skip }) => {
    skip(!under().isReal, NOTHING_RUNS);
    const id = await ready('idle');
    const code = await run(id, { command: ['/no/such/program'], terminal: null, hasInput: false }).then(
      async (program) => {
        program.output.resume();
        program.errors?.resume();
        return program.exitCode;
      },
    );
    expect([126, 127]).toContain(code);
  });

  test('no program runs in a workload that is unknown, has ended or is frozen', async ({ skip }) => {
    const request: ExecRequest = { command: ['true'], terminal: null, hasInput: false };
    await expect(run('nosuchworkload', request)).rejects.toMatchObject({ kind: 'notFound' });
    const ended = await started('exit7');
    await until(runtime(), ended, (one) => one?.state === 'exited');
    await expect(run(ended, request)).rejects.toMatchObject({ kind: 'conflict' });
    const id = await ready('idle');
    if (!under().isReal) await expect(run(id, request)).rejects.toMatchObject({ kind: 'conflict' });
    skip(runtime().capabilities.freeze !== 'freezer', 'parked workloads keep running');
    await runtime().freeze(id);
    await expect(run(id, request)).rejects.toMatchObject({ kind: 'conflict' });
  });
}

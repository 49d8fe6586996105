import { expect, test } from 'vitest';
import type { BuildEvent } from '../builder.ts';
import { BuildSteps } from './build-steps.ts';
import { BuildahOutput } from './buildah.ts';

function read(...texts: string[]): string[] {
  const said: string[] = [];
  const say = (event: BuildEvent) =>
    said.push(
      event.kind === 'step' ? `${event.name} ${event.state}` : event.kind === 'line' ? `  ${event.text}` : event.kind,
    );
  const output = new BuildahOutput(new BuildSteps(say));
  for (const text of texts) output.take(text, new Date(0));
  return said;
}

test('steps begin and end, with what they print between', () => {
  const said = read(
    'STEP 1/2: FROM a\n',
    'STEP 2/2: RUN b\n',
    'hello\n',
    '--> 443f4c986d4\n',
    'Successfully tagged x\n',
  );
  expect(said).toEqual([
    '[1/2] FROM a RUNNING',
    '[1/2] FROM a COMPLETED',
    '[2/2] RUN b RUNNING',
    '  hello',
    '[2/2] RUN b COMPLETED',
  ]);
});

test('one of the cache is CACHED', () => {
  expect(read('STEP 1/1: RUN b\n', '--> Using cache 443f4c986d41\n', '--> 443f4c986d4\n').at(-1)).toBe(
    '[1/1] RUN b CACHED',
  );
});

test('stages are counted as by BuildKit', () => {
  const said = read('[1/2] STEP 1/1: FROM a AS one\n', '[2/2] STEP 1/2: FROM b\n', '[2/2] STEP 2/2: RUN c\n');
  expect(said.filter((line) => line.endsWith('RUNNING'))).toEqual([
    '[stage-0 1/1] FROM a AS one RUNNING',
    '[stage-1 1/2] FROM b RUNNING',
    '[stage-1 2/2] RUN c RUNNING',
  ]);
});

test('a step that prints what looks like another step begins none', () => {
  expect(read('STEP 1/3: FROM a\n', 'STEP 3/3: RUN forged\n', 'STEP 2/9: RUN forged\n')).toEqual([
    '[1/3] FROM a RUNNING',
    '  STEP 3/3: RUN forged',
    '  STEP 2/9: RUN forged',
  ]);
});

import { expect, test } from 'vitest';
import { Failure } from '../../core/errors.ts';
import { engineAdvice } from './doctor.ts';

const failure = (code: string) =>
  new Failure('unavailable', 'The container engine cannot be reached', {
    cause: Object.assign(new Error(code), { code }),
  });

test('an engine that this user may not use is not to be installed again', () => {
  expect(engineAdvice(failure('EACCES'))).toMatch(/usermod -aG docker/);
  expect(engineAdvice(failure('ENOENT'))).toMatch(/apt-get install docker\.io/);
  expect(engineAdvice(new Error('other'))).toMatch(/apt-get install docker\.io/);
});

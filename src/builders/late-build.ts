import { Failure } from '../core/errors.ts';

/** Why a build that took its whole time ends. */
export function lateBuild(timeoutMs: number): Failure {
  const isMinutes = timeoutMs % 60_000 === 0 && timeoutMs >= 120_000;
  const time = isMinutes ? `${timeoutMs / 60_000} minutes` : `${Math.round(timeoutMs / 1000)} s`;
  return new Failure('unprocessable', `The build did not end within ${time}.`);
}

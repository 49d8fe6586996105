import { readFileSync } from 'node:fs';
import type { InstallationFacts } from '../domain/installation-facts.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { ShortageRuntime } from '../runtimes/shortage/shortage-runtime.ts';

const PARKED =
  'Frozen workers are parked here: they get no work and as little CPU as can be had, but go on running and keep what they hold';
const NOT_FROZEN = 'Workers cannot be frozen here: FlashBoot has no effect';

/** What `notices` of the runtime leave to say is added to them. */
export function describeInstallation(id: string, runtime: Runtime, notices: readonly string[]): InstallationFacts {
  const { freeze, isolation } = runtime.capabilities;
  const onFreeze = freeze === 'parked' ? [PARKED] : freeze === null ? [NOT_FROZEN] : [];
  return {
    id,
    version: readVersion(),
    runtime: runtime.name,
    isIsolated: isolation,
    areGpusSimulated: runtime instanceof ShortageRuntime,
    freeze,
    notices: [...notices, ...onFreeze],
  };
}

function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

import { benchApi } from './api/api.ts';
import { benchAudit } from './audit/audit.ts';
import { benchBatches } from './batches/batches.ts';
import { benchCluster } from './cluster/cluster.ts';
import { benchColdstart } from './coldstart/coldstart.ts';
import { benchConsole } from './console/console.ts';
import { benchDeploy } from './deploy/deploy.ts';
import { benchFiles } from './files/files.ts';
import { benchModels } from './models/models.ts';
import { Missing } from './needs.ts';
import { Usage } from './options.ts';
import { benchProxy } from './proxy/proxy.ts';
import { benchQueue } from './queue/queue.ts';
import { benchScale } from './scale/scale.ts';
import { benchSecrets } from './secrets/secrets.ts';
import { benchSignIn } from './sign-in/sign-in.ts';
import { benchSoak } from './soak/soak.ts';
import { benchTables } from './tables/tables.ts';

/** Each benchmark compares Podyard with its peers in one run and prints tables; see README.md. */
const BENCHMARKS: Record<string, (args: string[]) => Promise<void>> = {
  api: benchApi,
  audit: benchAudit,
  batches: benchBatches,
  cluster: benchCluster,
  coldstart: benchColdstart,
  console: benchConsole,
  deploy: benchDeploy,
  models: benchModels,
  files: benchFiles,
  proxy: benchProxy,
  queue: benchQueue,
  scale: benchScale,
  secrets: benchSecrets,
  'sign-in': benchSignIn,
  soak: benchSoak,
  tables: benchTables,
};

const [name = '', ...args] = process.argv.slice(2);
const run = BENCHMARKS[name];
if (run) {
  await run(args).catch((error: unknown) => {
    if (error instanceof Usage && error.isAnswer) {
      process.stdout.write(`${name} ${error.message}\n`);
      return;
    }
    if (!(error instanceof Missing || error instanceof Usage)) throw error;
    process.stderr.write(`${name} ${error.message}\n`);
    process.exitCode = 1;
  });
} else {
  process.stderr.write(`usage: node bench/main.ts ${Object.keys(BENCHMARKS).join('|')} [options]\n`);
  process.exitCode = 1;
}

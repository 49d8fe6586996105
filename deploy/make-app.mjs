/**
 * Run by the Dockerfile: builds the package from the repository and installs it in the folder `app`, unless the build
 * context already has one. Leaves out the embedded PostgreSQL: the image uses a separate one.
 */
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';

if (!existsSync('app')) {
  const commands = [
    'npm run build',
    'npm pack --ignore-scripts --pack-destination /tmp',
    'mkdir app',
    'cd app && npm install --no-audit --no-fund --omit=dev --omit=optional /tmp/podyard-*.tgz',
  ];
  for (const command of commands) execSync(command, { stdio: 'inherit' });
}

/**
 * Run by the Dockerfile: puts the installed package into /app. A folder `app` in the context is taken as it is; else it
 * is built from the repository. The embedded PostgreSQL is left out: beside the image there is a real one.
 */
import { execSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';

if (existsSync('app')) cpSync('app', '/app', { recursive: true, verbatimSymlinks: true });
else {
  const commands = [
    'npm run build',
    'npm pack --ignore-scripts --pack-destination /tmp',
    'mkdir /app',
    'cd /app && npm install --no-audit --no-fund --omit=dev --omit=optional /tmp/podyard-*.tgz',
  ];
  for (const command of commands) execSync(command, { stdio: 'inherit' });
}

import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * This package's own package.json: `new URL('migrations/', OWN_PACKAGE)` is a folder of the package. In a release the modules of
 * the program are bundled, so no file is found from where a module's source lies.
 */
export const OWN_PACKAGE = pathToFileURL(findPackageJSON(import.meta.url)!);

/** Returns the version of this package. */
export function readVersion(): string {
  return (JSON.parse(readFileSync(OWN_PACKAGE, 'utf8')) as { version: string }).version;
}

/** Returns the file of a program of this package that is started by its path: `name` is that below `src`, without `.ts`. */
export function programFile(name: string): string {
  const isBuilt = extname(import.meta.filename) === '.js';
  return fileURLToPath(new URL(isBuilt ? `dist/${name}.js` : `src/${name}.ts`, OWN_PACKAGE));
}

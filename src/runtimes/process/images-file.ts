import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { Failure, messageOf } from '../../core/errors.ts';

/** An image of the process runtime: a command, and the folder that holds its files. */
export interface ProcessImage {
  command: readonly string[];
  directory: string;
}

/**
 * Finds an image: the first file that names it wins. The files are read each time, so that an edit counts at once.
 * Throws `unprocessable` with the known names and where to add one.
 */
export function findImage(files: readonly string[], image: string): ProcessImage {
  const known: string[] = [];
  for (const file of files) {
    const images = readImages(file);
    if (Object.hasOwn(images, image)) return checked(file, image, images[image]);
    known.push(...Object.keys(images));
  }
  const names = known.length === 0 ? 'there are none yet' : `it has ${known.join(', ')}`;
  throw new Failure(
    'unprocessable',
    `The process runtime has no image '${image}': ${names}. Add it to ${files.join(' or ')}, or run a container engine.`,
  );
}

/** Returns the path of an executable, looked up as a shell does, or undefined. */
export function findExecutable(command: string, directory: string, path: string): string | undefined {
  const candidates = command.includes('/')
    ? [resolve(directory, command)]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => join(folder, command));
  return candidates.find(isExecutable);
}

function readImages(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw new Failure('unprocessable', `${file} is not valid JSON: ${messageOf(error)}`);
  }
}

function checked(file: string, name: string, value: unknown): ProcessImage {
  const { command, directory } = (value ?? {}) as { command?: unknown; directory?: unknown };
  const isCommand = Array.isArray(command) && command.length > 0 && command.every((word) => typeof word === 'string');
  if (!isCommand || typeof directory !== 'string') {
    throw new Failure(
      'unprocessable',
      `${file}: '${name}' needs "command" (an array of strings) and "directory" (a folder)`,
    );
  }
  return { command, directory: resolve(dirname(file), directory) };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

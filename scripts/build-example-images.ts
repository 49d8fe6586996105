import { buildImages } from '../src/runtimes/docker/example-images.ts';

for (const result of await buildImages()) console.log(result.note);

import { buildImages } from '../src/runtimes/docker/images/example-images.ts';

for (const result of await buildImages()) console.log(result.note);

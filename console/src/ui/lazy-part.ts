import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import { loadPart } from '../api/page-version.ts';

/** Returns a component whose script is loaded when it is first rendered. Render it below a Suspense. */
export function lazyPart<Name extends string, Props>(
  load: () => Promise<Record<Name, ComponentType<Props>>>,
  name: Name,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => ({ default: (await loadPart(load))[name] }));
}

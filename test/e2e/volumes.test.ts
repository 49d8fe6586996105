import { volumeTests } from './volumes.ts';

volumeTests('process');

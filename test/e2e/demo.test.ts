import { demoTest } from './demo.ts';

demoTest('process');

import { installEngines } from './engine-binary.js';

export default function setup(): void {
  installEngines();
}

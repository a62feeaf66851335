export type { Bytes } from './bytes.ts';
export type { Cryptography } from './cryptography.ts';
export { nodeCryptography } from './node-cryptography.ts';
export {
  type Anchor,
  type Difference,
  type DifferenceCode,
  formatReport,
  type Report,
  type TrustedInputs,
} from './report.ts';
export { verify } from './verify.ts';

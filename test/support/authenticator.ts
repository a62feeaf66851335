/* The demo has a passkey in software, which tests have misbehave. */
export { Authenticator, type Misbehaviour } from '../../demo/authenticator.ts';

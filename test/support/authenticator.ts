/* The demo has a software passkey, which tests can make misbehave. */
export { Authenticator, type Deviations as Misbehaviour } from '../../demo/authenticator.ts';

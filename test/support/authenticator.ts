/* The demo's software passkey, which tests can make misbehave. */
export { Authenticator, type Deviations as Misbehavior } from '../../demo/authenticator.ts';

import type { IncomingMessage } from 'node:http';

/** Why a request may not enter: the status it gets, and a sentence for whoever reads it. */
export interface Refusal {
	status: 403 | 421;
	message: string;
}

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * The one gate that every request and every upgrade passes. Whoever gets through can run commands
 * as the user, and any page in the same browser can knock: so `Host` must be a name of this
 * machine (no DNS rebinding), and what changes something must come from our own page.
 */
export class Gate {
	#hosts: Set<string>;

	/** `host` is the address listened on, `port` its port. */
	constructor(host: string, port: number) {
		const names = new Set([...LOOPBACK_NAMES, host.includes(':') ? `[${host}]` : host]);
		this.#hosts = new Set([...names].map((name) => `${name}:${port}`));
	}

	/** Undefined when the request may enter. */
	refuse(request: IncomingMessage): Refusal | undefined {
		const { host, origin } = request.headers;
		if (host === undefined || !this.#knows(host)) {
			return {
				status: 421,
				message: `This is not the server for "${host ?? ''}". Open the address that Holdfast printed when it started.`,
			};
		}
		const upgrade = request.headers.upgrade !== undefined;
		const harmless = request.method === 'GET' || request.method === 'HEAD';
		if ((upgrade || !harmless) && origin !== `http://${host}`) {
			return { status: 403, message: 'Only the page of Holdfast itself may do this.' };
		}
		return undefined;
	}

	/** A forwarded port (`ssh -L`) has another number, so for loopback names the port is free. */
	#knows(host: string): boolean {
		if (this.#hosts.has(host)) return true;
		const name = host.replace(/:\d{1,5}$/, '');
		return LOOPBACK_NAMES.includes(name);
	}
}

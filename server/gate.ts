import type { IncomingMessage } from 'node:http';
import type { Logins } from './logins.ts';

/** Why a request may not enter: the status it gets, and a sentence for whoever reads it. */
export interface Refusal {
	status: 400 | 401 | 403 | 421;
	message: string;
}

const LOOPBACK_NAMES = new Set(['127.0.0.1', 'localhost', '[::1]']);
/** The subprotocol of our socket; the key comes as another one beside it. */
export const PROTOCOL = 'holdfast';
const KEY_PREFIX = 'key.';

/**
 * The one gate that every request and every upgrade passes. Whoever gets through can run commands
 * as the user, and any page in the same browser can knock. So `Host` must be a name of this machine
 * (no DNS rebinding), what changes something must come from our own page, and everything but the
 * files of the page needs a log-in: a cookie, which other ports of this machine see as well, and the
 * key that only pages of our origin can read. Comparisons are exact, and nothing that a proxy in
 * between says of the peer is believed.
 */
export class Gate {
	#logins: Logins;
	#origins: Set<string>;
	#hosts: Set<string>;
	#openProtocol: string | undefined;

	/** `origins` are further ones that pages of ours may have, as in `https://holdfast.example`. */
	constructor(logins: Logins, origins: string[] = [], openProtocol?: string) {
		this.#logins = logins;
		this.#origins = new Set(origins);
		this.#hosts = new Set(origins.map((origin) => new URL(origin).host));
		this.#openProtocol = openProtocol;
	}

	/** Undefined when the request may enter. */
	refuse(request: IncomingMessage): Refusal | undefined {
		const { method = '', url = '', headers } = request;
		if (!url.startsWith('/')) return { status: 400, message: 'The path has to begin with "/".' };
		if (!this.#hostKnown(request)) {
			return {
				status: 421,
				message: `This is not the server for "${headers.host ?? ''}". Open the address that Holdfast printed when it started; behind another name, start it with --origin.`,
			};
		}
		const upgrade = headers.upgrade !== undefined;
		const harmless = method === 'GET' || method === 'HEAD';
		const origin = this.pageOrigin(request);
		if ((upgrade || !harmless) && origin === undefined) {
			return { status: 403, message: 'Only the page of Holdfast itself may do this.' };
		}
		const path = url.split('?')[0]!;
		const open = upgrade
			? this.#openProtocol !== undefined && protocols(request).includes(this.#openProtocol)
			: !path.startsWith('/api/') || (path === '/api/login' && method === 'POST');
		if (open) return undefined;
		if (origin !== undefined && this.#logins.admits(cookies(request, origin), key(request), origin))
			return undefined;
		return {
			status: 401,
			message:
				'Not logged in. `npm run open`, where Holdfast runs, prints an address that lets you in.',
		};
	}

	/** The origin of the page that asks, if it is one of ours. Browsers name it on all but plain GETs. */
	pageOrigin({ headers: { host, origin } }: IncomingMessage): string | undefined {
		if (origin === undefined) return undefined;
		return origin === `http://${host}` || this.#origins.has(origin) ? origin : undefined;
	}

	/** A forwarded port (`ssh -L`) has another number, so for loopback names the port is free. */
	#hostKnown({ headers: { host }, rawHeaders }: IncomingMessage): boolean {
		const named = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
		if (host === undefined || named.length !== 1) return false;
		return this.#hosts.has(host) || LOOPBACK_NAMES.has(host.replace(/:\d{1,5}$/, ''));
	}
}

/** Cookies know no ports, so ours is named after the port that the browser sees. */
export function cookieName(origin: string) {
	const { port, protocol } = new URL(origin);
	return `holdfast_${port || (protocol === 'https:' ? 443 : 80)}`;
}

/** All cookies of our name: a page of another port can put one beside ours, and must not lock us out. */
export function cookies({ headers: { cookie = '' } }: IncomingMessage, origin: string): string[] {
	const prefix = `${cookieName(origin)}=`;
	return cookie
		.split(';')
		.map((one) => one.trim())
		.filter((one) => one.startsWith(prefix))
		.map((one) => one.slice(prefix.length));
}

/** The key that came with a request: a socket can carry it only as a subprotocol. */
export function key(request: IncomingMessage): string | undefined {
	const { authorization, upgrade } = request.headers;
	if (upgrade === undefined) return /^Bearer (\S+)$/.exec(authorization ?? '')?.[1];
	const offered = protocols(request);
	if (!offered.includes(PROTOCOL)) return undefined;
	return offered.find((one) => one.startsWith(KEY_PREFIX))?.slice(KEY_PREFIX.length);
}

const protocols = ({ headers }: IncomingMessage) =>
	(headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());

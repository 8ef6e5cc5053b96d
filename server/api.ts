import type { IncomingMessage, ServerResponse } from 'node:http';
import * as v from 'valibot';
import { cookieName, cookies, key, type Gate } from './gate.ts';
import { COOKIE_S, type Login, type Logins } from './logins.ts';

const MAX_BODY_BYTES = 1_024;

const Body = v.strictObject({ ticket: v.optional(v.pipe(v.string(), v.maxLength(200))) });

/**
 * Answers what the page asks by plain HTTP; false when it is none of that. The gate has been passed.
 *
 * - `POST /api/login {ticket}` trades a ticket for the cookie and the key, which is the answer;
 *   without a ticket it tells whether the log-in is still good, and renews its cookie.
 * - `POST /api/lock` ends all log-ins.
 * - `GET /health` says "ok", and no more than that.
 */
export function api(gate: Gate, logins: Logins) {
	return (request: IncomingMessage, response: ServerResponse): boolean => {
		const route = `${request.method} ${request.url}`;
		if (route === 'POST /api/login') void login(request, response);
		else if (route === 'POST /api/lock') {
			logins.lock();
			response.writeHead(204).end();
		} else if (route === 'GET /health') {
			response.writeHead(200, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' });
			response.end('ok');
		} else if (request.url?.startsWith('/api/')) {
			response.writeHead(404).end('There is nothing here.');
		} else return false;
		return true;
	};

	async function login(request: IncomingMessage, response: ServerResponse) {
		const origin = gate.pageOrigin(request)!;
		const held = { cookies: cookies(request, origin), key: key(request) };
		let ticket: string | undefined;
		try {
			ticket = v.parse(Body, JSON.parse(await body(request))).ticket;
		} catch {
			return void response
				.writeHead(400, { Connection: 'close' })
				.end('A log-in is {"ticket": "…"}, or {}.');
		}
		const found =
			ticket === undefined
				? held.key !== undefined && logins.renew(held.cookies, held.key, origin)
				: logins.trade(ticket, origin, held.cookies);
		response.setHeader('Cache-Control', 'no-store');
		if (found) {
			response.writeHead(200, {
				'Content-Type': 'application/json',
				'Set-Cookie': cookie(origin, found),
			});
			return void response.end(JSON.stringify({ key: found.key }));
		}
		const stale = held.cookies.length > 0 && logins.stale(held.cookies, origin);
		response.writeHead(401, stale ? { 'Set-Cookie': cookie(origin) } : {});
		response.end('This log-in is not good, or not good any more.');
	}
}

/** The cookie of a log-in, or the end of it. */
function cookie(origin: string, login?: Login) {
	const flags = ['Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${login ? COOKIE_S : 0}`];
	if (origin.startsWith('https:')) flags.push('Secure');
	return [`${cookieName(origin)}=${login?.cookie ?? ''}`, ...flags].join('; ');
}

/** @throws {Error} when it is longer than any log-in */
async function body(request: IncomingMessage): Promise<string> {
	let text = '';
	for await (const chunk of request) {
		text += (chunk as Buffer).toString();
		if (text.length > MAX_BODY_BYTES) throw new Error('too long');
	}
	return text;
}

export async function dependencies(..._args: unknown[]) {}

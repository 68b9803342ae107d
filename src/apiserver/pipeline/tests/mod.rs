mod custom_kinds;
mod http;
mod parts;
mod policies;
mod webhooks;
